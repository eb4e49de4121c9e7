import { describeError, type Log } from '@holdfast/platform';
import { type HttpAnswer, type HttpPort, JSON_TYPE, openHttpPort } from './http-port.ts';
import type { HealthPort, HealthPorts } from './port.ts';

interface Serving {
  current: HealthPort;
  readonly opened: Promise<HttpPort | undefined>;
}

/** Health check ports as HTTP servers of this process, with the answers of kube-proxy. */
export class HttpHealthPorts implements HealthPorts {
  readonly #deps: { readonly log: Log; readonly isHealthy: () => boolean; readonly open?: typeof openHttpPort };
  readonly #serving = new Map<number, Serving>();
  /** Ports that could not be opened at the last attempt: each is logged once. */
  readonly #refused = new Set<number>();

  constructor(deps: { readonly log: Log; readonly isHealthy: () => boolean; readonly open?: typeof openHttpPort }) {
    this.#deps = deps;
  }

  async serve(ports: readonly HealthPort[]): Promise<void> {
    const wanted = new Map(ports.map((port) => [port.port, port]));
    await Promise.all([...this.#serving.keys()].filter((port) => !wanted.has(port)).map((port) => this.#close(port)));
    for (const port of wanted.values()) {
      const known = this.#serving.get(port.port);
      if (known === undefined) this.#open(port);
      else known.current = port;
    }
    await Promise.all([...this.#serving.values()].map(({ opened }) => opened));
  }

  async stop(): Promise<void> {
    await this.serve([]);
  }

  #open(port: HealthPort): void {
    const { open = openHttpPort, log } = this.#deps;
    const answer = (): HttpAnswer => this.#answer(serving.current);
    const number = port.port;
    const opened = open({ port: number }, answer).then(
      (server) => {
        this.#refused.delete(number);
        return server;
      },
      (error: unknown) => {
        // The next change of a service tries it again.
        if (this.#serving.get(number) === serving) this.#serving.delete(number);
        if (!this.#refused.has(number))
          log.warn('a health check port cannot be opened', { ...port, error: describeError(error) });
        this.#refused.add(number);
        return undefined;
      },
    );
    const serving: Serving = { current: port, opened };
    this.#serving.set(number, serving);
  }

  async #close(port: number): Promise<void> {
    const serving = this.#serving.get(port);
    this.#serving.delete(port);
    await (await serving?.opened)?.close();
  }

  #answer({ namespace, name, localEndpoints }: HealthPort): HttpAnswer {
    const serviceProxyHealthy = this.#deps.isHealthy();
    return {
      status: serviceProxyHealthy && localEndpoints > 0 ? 200 : 503,
      headers: { ...JSON_TYPE, 'x-load-balancing-endpoint-weight': `${localEndpoints}` },
      body: `${JSON.stringify({ service: { namespace, name }, localEndpoints, serviceProxyHealthy })}\n`,
    };
  }
}
