export declare const gatewayWires: {
    'gateway.wires': string;
    'gateway.refuses-by-name': string;
    'gateway.passes': string;
    'gateway.keys-stay': string;
    'gateway.session.found': string;
    'gateway.session.apart': string;
    'gateway.session.shared': string;
    'gateway.retry': string;
    'gateway.reported': string;
    'gateway.fails-closed': string;
    'gateway.modes': string;
    'gateway.bad-input': string;
};
