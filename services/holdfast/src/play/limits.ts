/** As long as a client of the API over a network waits for an answer that was lost. */
export const LOST_AFTER_MS = 10_000;
/** A watch over a network notices by its silence that it is cut off. */
export const SILENT_WATCH_MS = 30_000;
/** Faults at one time. */
export const FAULTS_MAX = 64;
export const FAULT_MS_MAX = 60 * 60_000;
/** One request lets this much time pass at most. */
export const ADVANCE_MS_MAX = 60 * 60_000;
/** A watch of a client that names no time, and up to as much more. */
export const WATCH_LASTS_MS = 30 * 60_000;
export const DELAY_MS_MAX = 60_000;
/** Messages of the bus that wait for a stopped process; later ones are lost, as a bus may lose them. */
export const HELD_MESSAGES_MAX = 20_000;
export const STEP_BYTES_MAX = 4 * 1024;
/** The end of a killed component is waited for this long before it starts again. */
export const CRASH_MS_MAX = 10_000;
