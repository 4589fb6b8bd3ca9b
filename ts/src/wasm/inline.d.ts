// What the build puts beside the glue: the module itself, gzip and base64.
export declare const packed: string;
