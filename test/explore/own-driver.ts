/** The driver of `test/support/csi-driver`, which is served by the program of the controllers. */
export const SERVED_DRIVER = 'disk.test.holdfast.io';
