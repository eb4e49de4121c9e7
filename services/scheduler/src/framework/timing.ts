/** Runs a step of a decision and may measure it. */
export type ExtensionTimer = <T>(extensionPoint: string, run: () => T) => T;

export const untimed: ExtensionTimer = (_, run) => run();
