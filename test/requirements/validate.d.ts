export declare const validate: {
    'validate.synchronous': string;
    'validate.unmatched-policy.default': string;
    'validate.unmatched-policy.deny': string;
    'validate.unmatched-policy.allow': string;
    'validate.openai': string;
    'validate.anthropic': string;
    'validate.normalized': string;
    'validate.prepare.directory': string;
    'validate.prepare.files': string;
    'validate.prepare.objects': string;
};
