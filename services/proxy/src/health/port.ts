/** What a load balancer learns at the health check port of a service. */
export interface HealthPort {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly localEndpoints: number;
}

/** The health check ports of one node. */
export interface HealthPorts {
  /** Opens, changes and closes ports so that exactly these are open. Never rejects: a port that is taken is logged. */
  serve(ports: readonly HealthPort[]): Promise<void>;
  stop(): Promise<void>;
}
