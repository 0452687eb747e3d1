export declare const versioning: {
    'version.v1-prefix': string;
    'version.account-unversioned': string;
};
