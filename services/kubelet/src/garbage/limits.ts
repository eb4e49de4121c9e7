/** Kubernetes' own. */
export const CONTAINER_GARBAGE_MS = 60_000;
export const IMAGE_GARBAGE_MS = 300_000;
