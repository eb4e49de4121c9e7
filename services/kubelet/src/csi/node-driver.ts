import {
  type Capability,
  type CsiClients,
  CsiConnection,
  capabilityOf,
  type GetPluginInfoResponse,
  QUICK_DEADLINE_MS,
  NodeServiceCapability_RPC_Type as Rpc,
  VolumeUsage_Unit as Unit,
} from '@holdfast/client/csi';
import type { Clock } from '@holdfast/platform';
import type { DriverAbilities, DriverNode, NodeDriver, StageRequest, VolumeUsage } from './port.ts';

/** The type of CSI drivers among the plugins that register with a kubelet. */
const CSI_PLUGIN = 'CSIPlugin';

export interface Registered {
  readonly driver: NodeDriver;
  /** Tells the plugin the result. */
  readonly confirm: (error: string | undefined) => Promise<void>;
}

/** Asks the plugin behind a registration socket for its driver. `undefined`: the plugin is not a CSI driver. */
export async function openPlugin(socket: string, clock: Clock): Promise<Registered | undefined> {
  const registration = new CsiConnection(socket, clock);
  try {
    const { type, name, endpoint } = await registration.call(
      (clients, options) => clients.registration.getInfo({}, options),
      QUICK_DEADLINE_MS,
    );
    if (type !== CSI_PLUGIN) {
      registration.close();
      return undefined;
    }
    const driver = await openDriver(name, endpoint === '' ? socket : endpoint, clock);
    return { driver, confirm: (error) => confirm(registration, error) };
  } catch (error) {
    await confirm(registration, error instanceof Error ? error.message : 'the driver does not answer').catch(() => {});
    throw error;
  }
}

async function confirm(registration: CsiConnection, error: string | undefined): Promise<void> {
  const status = { pluginRegistered: error === undefined, error: error ?? '' };
  try {
    await registration.call(
      (clients, options) => clients.registration.notifyRegistrationStatus(status, options),
      QUICK_DEADLINE_MS,
    );
  } finally {
    registration.close();
  }
}

async function openDriver(name: string, endpoint: string, clock: Clock): Promise<NodeDriver> {
  const connection = new CsiConnection(endpoint, clock);
  try {
    const ask = <T>(work: Parameters<typeof connection.call<T>>[0]): Promise<T> =>
      connection.call(work, QUICK_DEADLINE_MS);
    const info: GetPluginInfoResponse = await ask(({ identity }, options) => identity.getPluginInfo({}, options));
    if (info.name !== name)
      throw new Error(`the plugin registers as "${name}", but its driver calls itself "${info.name}"`);
    const node = await ask(({ node: client }, options) => client.nodeGetInfo({}, options));
    const { capabilities } = await ask(({ node: client }, options) => client.nodeGetCapabilities({}, options));
    const types = new Set(capabilities.flatMap(({ type }) => (type.case === 'rpc' ? [type.value.type] : [])));
    const topology = node.accessibleTopology?.segments ?? {};
    const seen: DriverNode = { nodeId: node.nodeId, maxVolumes: Number(node.maxVolumesPerNode), topology };
    return createDriver(connection, { name, node: seen, can: abilitiesOf(types) });
  } catch (error) {
    connection.close();
    throw error;
  }
}

const abilitiesOf = (types: ReadonlySet<Rpc>): DriverAbilities => ({
  stages: types.has(Rpc.STAGE_UNSTAGE_VOLUME),
  expands: types.has(Rpc.EXPAND_VOLUME),
  reportsUsage: types.has(Rpc.GET_VOLUME_STATS),
  knowsSingleWriter: types.has(Rpc.SINGLE_NODE_MULTI_WRITER),
  setsGroup: types.has(Rpc.VOLUME_MOUNT_GROUP),
});

function createDriver(
  connection: CsiConnection,
  facts: { readonly name: string; readonly node: DriverNode; readonly can: DriverAbilities },
): NodeDriver {
  const { can } = facts;
  const work = async (call: (node: CsiClients['node'], options: { signal: AbortSignal }) => Promise<unknown>) => {
    await connection.call(({ node }, options) => call(node, options));
  };
  const form = (request: { readonly form: StageRequest['form'] }): Capability =>
    capabilityOf({
      ...request.form,
      knowsSingleWriter: can.knowsSingleWriter,
      mountGroup: can.setsGroup ? request.form.group : undefined,
    });
  return {
    ...facts,
    stage: ({ volumeId, stagingPath, context, publishContext, secrets, ...rest }) =>
      work((node, options) =>
        node.nodeStageVolume(
          {
            volumeId,
            stagingTargetPath: stagingPath,
            volumeCapability: form(rest),
            volumeContext: context,
            publishContext,
            secrets,
          },
          options,
        ),
      ),
    unstage: ({ volumeId, stagingPath }) =>
      work((node, options) => node.nodeUnstageVolume({ volumeId, stagingTargetPath: stagingPath }, options)),
    publish: ({ volumeId, stagingPath, targetPath, readOnly, context, publishContext, secrets, ...rest }) =>
      work((node, options) =>
        node.nodePublishVolume(
          {
            volumeId,
            stagingTargetPath: stagingPath,
            targetPath,
            readonly: readOnly,
            volumeCapability: form(rest),
            volumeContext: context,
            publishContext,
            secrets,
          },
          options,
        ),
      ),
    unpublish: ({ volumeId, targetPath }) =>
      work((node, options) => node.nodeUnpublishVolume({ volumeId, targetPath }, options)),
    expand: ({ volumeId, stagingPath, targetPath, bytes, secrets, ...rest }) =>
      work((node, options) =>
        node.nodeExpandVolume(
          {
            volumeId,
            stagingTargetPath: stagingPath,
            volumePath: targetPath,
            capacityRange: { requiredBytes: BigInt(bytes) },
            volumeCapability: form(rest),
            secrets,
          },
          options,
        ),
      ),
    usage: ({ volumeId, stagingPath, targetPath }) => readUsage(connection, { volumeId, stagingPath, targetPath }),
    close: () => connection.close(),
  };
}

async function readUsage(
  connection: CsiConnection,
  volume: { readonly volumeId: string; readonly stagingPath: string; readonly targetPath: string },
): Promise<VolumeUsage | undefined> {
  const { volumeId, stagingPath: stagingTargetPath, targetPath: volumePath } = volume;
  const { usage } = await connection.call(
    ({ node }, options) => node.nodeGetVolumeStats({ volumeId, stagingTargetPath, volumePath }, options),
    QUICK_DEADLINE_MS,
  );
  const bytes = usage.find(({ unit }) => unit === Unit.BYTES);
  if (bytes === undefined) return undefined;
  const { total, used, available } = bytes;
  const inodes = usage.find(({ unit }) => unit === Unit.INODES);
  return {
    capacityBytes: Number(total),
    usedBytes: Number(used),
    availableBytes: Number(available),
    ...(inodes === undefined
      ? {}
      : { inodes: { total: Number(inodes.total), used: Number(inodes.used), free: Number(inodes.available) } }),
  };
}
