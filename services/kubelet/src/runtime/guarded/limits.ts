/** Poll interval until the killed processes of a frozen group have gone. */
export const EMPTY_POLL_MS = 20;
export const EMPTY_LOOKS_MAX = 100;

/** Looks at a container that runs, and whose group was not found. */
export const PLACE_LOOKS = 20;
export const PLACE_POLL_MS = 50;
