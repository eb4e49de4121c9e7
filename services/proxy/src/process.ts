import { openComponent } from '@holdfast/client/component-config';
import {
  createSystemClock,
  createSystemRandom,
  describeError,
  type Log,
  OperatorError,
  opened,
  type Service,
  startAll,
} from '@holdfast/platform';
import { createHealthServer } from '@holdfast/platform/status-server';
import { createProxy, type Proxy } from './app.ts';
import type { ProxyConfig } from './config.ts';
import { createConntrackFlows } from './filter/conntrack-flows.ts';
import { createNftFilter } from './filter/nft-filter.ts';
import { HttpHealthPorts } from './health/http-health-ports.ts';
import { type HttpPort, openHttpPort } from './health/http-port.ts';
import { healthAnswer, isFollowing } from './health/proxy-health.ts';

/** The proxy of one node, in the network namespace of this process. */
export async function startProcess(config: ProxyConfig, log: Log): Promise<Service> {
  const { connection, ...tools } = await openComponent(config.component, { name: 'proxy', log });
  const { clock } = tools;
  const isHealthy = (): boolean => isFollowing(proxy.health().progress, clock.monotonic());
  const proxy: Proxy = createProxy({
    ...tools,
    nodeName: config.nodeName,
    filter: createNftFilter(tools),
    flows: createConntrackFlows(tools),
    healthPorts: new HttpHealthPorts({ log, isHealthy }),
    options: config.options,
  });
  const removal = opened('rules', async () => {
    if (config.removeRulesOnStop) await proxy.removeRules();
  });
  const servers = [...healthzServers(config, proxy, tools), ...metricsServers(config, proxy)];
  return startAll(proxy.name, [connection, ...servers, removal, proxy], tools);
}

function healthzServers({ healthz }: ProxyConfig, proxy: Proxy, { clock }: Parameters<typeof startAll>[2]): Service[] {
  if (healthz === undefined) return [];
  let port: HttpPort | undefined;
  const start = async (): Promise<void> => {
    port = await openHttpPort(healthz, (path) => healthAnswer(path, proxy.health(), clock)).catch((error: unknown) => {
      throw new OperatorError({
        code: 'HealthzAddress',
        message: `--healthz-bind-address ${healthz.host}:${healthz.port} cannot be served: ${describeError(error)}`,
        nextStep: 'Give an address of this machine and a free port, or none.',
      });
    });
  };
  return [{ name: 'health check of the proxy', start, stop: async () => port?.close() }];
}

function metricsServers({ metricsAddress }: ProxyConfig, proxy: Proxy): readonly Service[] {
  if (metricsAddress === undefined) return [];
  const unready = 'the rules are not written yet';
  return [createHealthServer({ component: 'proxy', address: metricsAddress, source: proxy, unready })];
}

/** `--cleanup`: nothing runs afterwards, so the process ends. */
export async function removeRules(): Promise<Service> {
  await createNftFilter({ clock: createSystemClock(), random: createSystemRandom() }).remove();
  return opened('cleanup', async () => {});
}
