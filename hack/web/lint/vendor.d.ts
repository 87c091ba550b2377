declare const anything: any;
export default anything;
export const dump: any;
export const loadAll: any;
