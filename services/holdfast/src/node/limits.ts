/** Bounds of a node with networks for its pods. Units are in the names. */

/** How often the routes of the kernel are compared: a link that went took its routes with it. */
export const ROUTES_LOOK_MS = 5_000;
/** Deadline of a connection of a pod to one API server, before the next one is tried. */
export const API_CONNECT_MS = 3_000;
