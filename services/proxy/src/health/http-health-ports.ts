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
    const opened = open({ port: port.port }, answer).catch((error: unknown) => {
      log.warn('a health check port cannot be opened', { ...port, error: describeError(error) });
      return undefined;
    });
    const serving: Serving = { current: port, opened };
    this.#serving.set(port.port, serving);
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
