import { openComponent } from '@holdfast/client/component-config';
import { createSystemClock, createSystemRandom, type Log, opened, type Service, startAll } from '@holdfast/platform';
import { createHealthServer } from '@holdfast/platform/status-server';
import { createProxy, type Proxy } from './app.ts';
import type { ProxyConfig } from './config.ts';
import { createConntrackFlows } from './filter/conntrack-flows.ts';
import { createNftFilter } from './filter/nft-filter.ts';
import { createHealthz } from './health/healthz.ts';
import { HttpHealthPorts } from './health/http-health-ports.ts';
import { isFollowing } from './health/proxy-health.ts';

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
  const healthz = config.healthz === undefined ? [] : [createHealthz(config.healthz, proxy, clock)];
  const servers = [...healthz, ...metricsServers(config, proxy)];
  return startAll(proxy.name, [connection, ...servers, removal, proxy], tools);
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
