/** The network access of probes and hooks. Injected: a simulation has no sockets. */
export interface ProbeNetwork {
  /**
   * Rejects when no answer came in time, and with `PlainAnswerError`. Redirects are answers, with where they lead to and the
   * beginning of their text.
   */
  httpGet(request: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly timeoutMs: number;
    /** Gives the request up. */
    readonly signal?: AbortSignal | undefined;
  }): Promise<HttpAnswer>;
  /** Resolves when the port accepted a connection. */
  connect(host: string, port: number, timeoutMs: number): Promise<void>;
  /** `grpc.health.v1.Health/Check`; answers the name of the serving status. */
  grpcHealth(request: {
    readonly host: string;
    readonly port: number;
    readonly service: string;
    /** Ends the check. */
    readonly signal: AbortSignal;
  }): Promise<{ readonly status: string }>;
}

export interface HttpAnswer {
  readonly status: number;
  readonly location?: string | undefined;
  readonly body?: string;
}

/** Every probe succeeds immediately: for nodes with simulated containers. */
export const HOLLOW_PROBE_NETWORK: ProbeNetwork = {
  httpGet: () => Promise.resolve({ status: 200 }),
  connect: () => Promise.resolve(),
  grpcHealth: () => Promise.resolve({ status: 'SERVING' }),
};
