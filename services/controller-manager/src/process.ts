import { readFile } from 'node:fs/promises';
import { type ComponentConnection, connectComponent, openComponent } from '@holdfast/client/component-config';
import { type Log, opened, type Service, startAll } from '@holdfast/platform';
import { requireSettings } from '@holdfast/platform/config';
import { healthServers } from '@holdfast/platform/health-server';
import { createControllerManager } from './app.ts';
import type { ControllerManagerConfig } from './config.ts';

const USER_AGENT = 'holdfast-controller-manager';

/** The controller manager of one process, with its identities and its bus. */
export async function startProcess(config: ControllerManagerConfig, log: Log): Promise<Service> {
  const {
    connection,
    client: manager,
    ...tools
  } = await openComponent(config.component, {
    name: 'controller-manager',
    log,
  });
  /** The bus is heard once, whatever the identity. */
  const connectAs = (who: string, tokenFile: string | undefined): Promise<ComponentConnection> =>
    connectComponent(
      { ...config.component, bus: undefined, 'token-file': tokenFile },
      { ...tools, userAgent: `${USER_AGENT}/${who}` },
    );
  const podGc = await connectAs('pod-garbage-collector', config.podGcTokenFile);
  const { tokenFile, authority } = config.certificates;
  const certificates = tokenFile === undefined ? undefined : await connectAs('certificate-controller', tokenFile);
  const service = createControllerManager({
    ...tools,
    clients: {
      manager,
      podGc: podGc.client,
      ...(certificates === undefined ? {} : { certificates: certificates.client }),
    },
    settings: {
      ...config.settings,
      rootCa: await readFile(requireSettings(config.component, ['ca-file'])['ca-file'], 'utf8'),
      ...(authority === undefined ? {} : { signingAuthority: await readAuthority(authority) }),
    },
  });
  const others = [podGc, ...(certificates === undefined ? [] : [certificates])];
  const identities = others.map((other) => opened('connection', () => other.close()));
  const health = healthServers('controller manager', config.component['health-address'], () => service.health());
  return startAll(service.name, [connection, ...identities, service, ...health], tools);
}

async function readAuthority(
  files: NonNullable<ControllerManagerConfig['certificates']['authority']>,
): Promise<{ readonly certificate: string; readonly key: string }> {
  const [certificate, key] = await Promise.all([readFile(files.certFile, 'utf8'), readFile(files.keyFile, 'utf8')]);
  return { certificate, key };
}
