/** Begins a command of another user than root, without a right on the machine, who owns the same files. */
export const WITHOUT_ROOT: readonly string[] = ['unshare', '--user', '--map-user=1000', '--map-group=1000', '--'];
