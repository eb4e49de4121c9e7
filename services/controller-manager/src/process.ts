import { readFile } from 'node:fs/promises';
import { connectComponent } from '@holdfast/client/component-config';
import {
  createIds,
  createSystemClock,
  createSystemRandom,
  type Log,
  openTracing,
  type Service,
} from '@holdfast/platform';
import { requireSettings } from '@holdfast/platform/config';
import { createControllerManager } from './app.ts';
import type { ControllerManagerConfig } from './config.ts';

/** The controller manager of one process, with its two identities and its bus. */
export async function startProcess(config: ControllerManagerConfig, log: Log): Promise<Service> {
  const clock = createSystemClock();
  const random = createSystemRandom();
  const userAgent = 'holdfast-controller-manager';
  const { tracer, ...tracing } = await openTracing('controller-manager', config.component['tracing-endpoint']);
  const manager = await connectComponent(config.component, { clock, log, userAgent, tracer });
  const { bus: _noBus, ...withoutBus } = config.component;
  const podGcSettings = { ...withoutBus, bus: undefined, 'token-file': config.podGcTokenFile };
  const podGc = await connectComponent(podGcSettings, {
    clock,
    log,
    userAgent: `${userAgent}/pod-garbage-collector`,
    tracer,
  });
  const { tokenFile, authority } = config.certificates;
  const certificates =
    tokenFile === undefined
      ? undefined
      : await connectComponent(
          { ...withoutBus, bus: undefined, 'token-file': tokenFile },
          { clock, log, userAgent: `${userAgent}/certificate-controller`, tracer },
        );
  const service = createControllerManager({
    clock,
    random,
    ids: createIds(random),
    log,
    tracer,
    bus: manager.bus,
    clients: {
      manager: manager.client,
      podGc: podGc.client,
      ...(certificates === undefined ? {} : { certificates: certificates.client }),
    },
    settings: {
      ...config.settings,
      rootCa: await readFile(requireSettings(config.component, ['ca-file'])['ca-file'], 'utf8'),
      ...(authority === undefined ? {} : { signingAuthority: await readAuthority(authority) }),
    },
  });
  await service.start();
  return {
    name: service.name,
    start: async () => {},
    stop: async () => {
      await service.stop();
      await podGc.close();
      await certificates?.close();
      await manager.close();
      await tracing.stop();
    },
  };
}

async function readAuthority(
  files: NonNullable<ControllerManagerConfig['certificates']['authority']>,
): Promise<{ readonly certificate: string; readonly key: string }> {
  const [certificate, key] = await Promise.all([readFile(files.certFile, 'utf8'), readFile(files.keyFile, 'utf8')]);
  return { certificate, key };
}
