import { type Clock, describeError, OperatorError, type Service } from '@holdfast/platform';
import type { Proxy } from '../app.ts';
import { type HttpPort, openHttpPort } from './http-port.ts';
import { healthAnswer } from './proxy-health.ts';

/** `/healthz` and `/livez` as kube-proxy serves them. */
export function createHealthz(
  place: { readonly host: string; readonly port: number },
  proxy: Pick<Proxy, 'health'>,
  clock: Clock,
): Service {
  let port: HttpPort | undefined;
  const start = async (): Promise<void> => {
    port = await openHttpPort(place, (path) => healthAnswer(path, proxy.health(), clock)).catch((error: unknown) => {
      throw new OperatorError({
        code: 'HealthzAddress',
        message: `--healthz-bind-address ${place.host}:${place.port} cannot be served: ${describeError(error)}`,
        nextStep: 'Give an address of this machine and a free port, or none.',
      });
    });
  };
  return { name: 'health check of the proxy', start, stop: async () => port?.close() };
}
