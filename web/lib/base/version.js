// version.js - the version of the package, which provenance names: that of package.json
export const VERSION = '0.1.0';
