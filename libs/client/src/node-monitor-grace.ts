/** Silence after which a node's readiness is Unknown. Kubelets report every 10 s, so single lost reports do not matter. */
export const NODE_MONITOR_GRACE_SECONDS_DEFAULT = 50;

/** The controller manager decides with it. The fencer publishes a bound that contains it. */
export const NODE_MONITOR_GRACE_SETTING = {
  kind: 'integer',
  help: 'seconds without a heartbeat after which the readiness of a node is Unknown; kubelets report every 10 s',
  default: NODE_MONITOR_GRACE_SECONDS_DEFAULT,
  // Two status reports. With less, one late packet makes a node unknown, and the manager takes its own silence for that
  // of its nodes.
  min: 20,
  max: 3_600,
} as const;
