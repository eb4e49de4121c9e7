import { existsSync, lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { Code, ConnectError, type ConnectRouter, type ServiceImpl } from '@connectrpc/connect';
import {
  Controller,
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  Identity,
  Node,
  NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
  Registration,
  VolumeUsage_Unit as Unit,
} from '@holdfast/client/csi';
import { type Disk, DiskStore } from './disk-store.ts';

/** The label of nodes in the topology of this driver. */
export const TOPOLOGY_KEY = 'topology.disk.test.holdfast.io/node';

export interface CsiTestDriverOptions {
  readonly name: string;
  /** Where the volumes are. Drivers of all nodes have the same. */
  readonly root: string;
  /** Absent: no node service. */
  readonly nodeId?: string;
  readonly maxVolumes?: number;
  /** The driver's own address, for its registration. */
  readonly endpoint: string;
  /** Every call by name; it may throw to make the call fail. */
  readonly onCall?: (call: string, request: object) => void | Promise<void>;
}

const volumeMissing = (id: string): ConnectError => new ConnectError(`volume ${id} not found`, Code.NotFound);

/**
 * A CSI driver whose volumes are directories of this machine. A stage is a link to the directory of the volume, and a
 * publish is a link to the same: no call needs root. The stage of a block volume is a link to a loop device, which needs root. It keeps the rules of CSI: calls are idempotent, an attached
 * volume is refused to a second node, and a volume in use is not deleted.
 */
export function csiTestDriver(options: CsiTestDriverOptions): (router: ConnectRouter) => ConnectRouter {
  const disks = new DiskStore(options.root);
  const seen: Seen = async (call, request) => options.onCall?.(call, request);
  return (router) => {
    router.service(Registration, registration(options));
    router.service(Identity, identity(options));
    router.service(Controller, controller(disks, seen));
    return options.nodeId === undefined ? router : router.service(Node, node(disks, options, seen));
  };
}

type Seen = (call: string, request: object) => Promise<void>;

const registration = ({ name, endpoint }: CsiTestDriverOptions): ServiceImpl<typeof Registration> => ({
  getInfo: () => ({ type: 'CSIPlugin', name, endpoint, supportedVersions: ['1.0.0'] }),
  notifyRegistrationStatus: () => ({}),
});

const identity = ({ name }: CsiTestDriverOptions): ServiceImpl<typeof Identity> => ({
  getPluginInfo: () => ({ name, vendorVersion: '1.0.0' }),
  getPluginCapabilities: () => ({
    capabilities: [PluginService.CONTROLLER_SERVICE, PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS].map((type) => ({
      type: { case: 'service' as const, value: { type } },
    })),
  }),
  probe: () => ({ ready: true }),
});

const DEFAULT_BYTES = 1024 ** 3;
const SIZE_LIMIT = 1024 ** 4;

const controller = (disks: DiskStore, seen: Seen): ServiceImpl<typeof Controller> => ({
  controllerGetCapabilities: () => ({
    capabilities: [
      ControllerRpc.CREATE_DELETE_VOLUME,
      ControllerRpc.PUBLISH_UNPUBLISH_VOLUME,
      ControllerRpc.EXPAND_VOLUME,
    ].map((type) => ({ type: { case: 'rpc' as const, value: { type } } })),
  }),
  createVolume: async (request) => {
    await seen('CreateVolume', request);
    const bytes = Number(request.capacityRange?.requiredBytes ?? DEFAULT_BYTES);
    if (bytes > SIZE_LIMIT) throw new ConnectError('the volume is too large', Code.OutOfRange);
    const disk = disks.make(request.name, bytes, request.parameters);
    const [topology] = request.accessibilityRequirements?.preferred ?? [];
    const isLocal = request.parameters['local'] === 'true' && topology !== undefined;
    return {
      volume: {
        volumeId: disk.id,
        capacityBytes: BigInt(disk.bytes),
        volumeContext: { kind: request.parameters['kind'] ?? 'plain' },
        accessibleTopology: isLocal ? [topology] : [],
      },
    };
  },
  deleteVolume: async (request) => {
    await seen('DeleteVolume', request);
    const disk = disks.get(request.volumeId);
    if ((disk?.attachedTo.length ?? 0) > 0) throw new ConnectError('the volume is in use', Code.FailedPrecondition);
    disks.remove(request.volumeId);
    return {};
  },
  controllerPublishVolume: async (request) => {
    await seen('ControllerPublishVolume', request);
    const disk = found(disks, request.volumeId);
    const others = disk.attachedTo.filter((nodeId) => nodeId !== request.nodeId);
    if (others.length > 0) throw new ConnectError(`attached to ${others.join(', ')}`, Code.FailedPrecondition);
    disks.put({ ...disk, attachedTo: [request.nodeId] });
    return { publishContext: { device: `/dev/disk/${disk.id}` } };
  },
  controllerUnpublishVolume: async (request) => {
    await seen('ControllerUnpublishVolume', request);
    const disk = disks.get(request.volumeId);
    if (disk !== undefined)
      disks.put({ ...disk, attachedTo: disk.attachedTo.filter((nodeId) => nodeId !== request.nodeId) });
    return {};
  },
  controllerExpandVolume: async (request) => {
    await seen('ControllerExpandVolume', request);
    const disk = found(disks, request.volumeId);
    const bytes = Math.max(disk.bytes, Number(request.capacityRange?.requiredBytes ?? 0n));
    if (bytes > SIZE_LIMIT) throw new ConnectError('the volume is too large', Code.OutOfRange);
    disks.put({ ...disk, bytes });
    return { capacityBytes: BigInt(bytes), nodeExpansionRequired: true };
  },
});

function found(disks: DiskStore, id: string): Disk {
  const disk = disks.get(id);
  if (disk === undefined) throw volumeMissing(id);
  return disk;
}

/** Inline volumes have handles of the kubelet, and are made with their first use. */
const isInline = (volumeId: string): boolean => volumeId.startsWith('csi-');

const node = (
  disks: DiskStore,
  { nodeId = '', maxVolumes = 0 }: CsiTestDriverOptions,
  seen: Seen,
): ServiceImpl<typeof Node> => ({
  nodeGetInfo: () => ({
    nodeId,
    maxVolumesPerNode: BigInt(maxVolumes),
    accessibleTopology: { segments: { [TOPOLOGY_KEY]: nodeId } },
  }),
  nodeGetCapabilities: () => ({
    capabilities: [NodeRpc.STAGE_UNSTAGE_VOLUME, NodeRpc.EXPAND_VOLUME, NodeRpc.GET_VOLUME_STATS].map((type) => ({
      type: { case: 'rpc' as const, value: { type } },
    })),
  }),
  nodeStageVolume: async (request) => {
    await seen('NodeStageVolume', request);
    const disk = found(disks, request.volumeId);
    const isWritable = disk.attachedTo.includes(nodeId) || disk.parameters['attach'] === 'none';
    if (!isWritable) throw new ConnectError('the volume is not attached to this node', Code.FailedPrecondition);
    const isBlock = request.volumeCapability?.accessType.case === 'block';
    link(path.join(request.stagingTargetPath, 'disk'), isBlock ? disks.attachDevice(disk) : disks.directory(disk.id));
    return {};
  },
  nodeUnstageVolume: async (request) => {
    await seen('NodeUnstageVolume', request);
    rmSync(path.join(request.stagingTargetPath, 'disk'), { force: true });
    disks.detachDevice(request.volumeId);
    return {};
  },
  nodePublishVolume: async (request) => {
    await seen('NodePublishVolume', request);
    if (isInline(request.volumeId)) {
      const disk = disks.make(request.volumeId, DEFAULT_BYTES, {});
      link(request.targetPath, disks.directory(disk.id));
      return {};
    }
    const staged = path.join(request.stagingTargetPath, 'disk');
    if (!existsSync(staged)) throw new ConnectError('the volume is not staged', Code.FailedPrecondition);
    link(request.targetPath, readlinkSync(staged));
    return {};
  },
  nodeUnpublishVolume: async (request) => {
    await seen('NodeUnpublishVolume', request);
    rmSync(request.targetPath, { force: true });
    if (isInline(request.volumeId)) {
      const disk = disks.all().find(({ name }) => name === request.volumeId);
      if (disk !== undefined) disks.remove(disk.id);
    }
    return {};
  },
  nodeExpandVolume: async (request) => {
    await seen('NodeExpandVolume', request);
    return { capacityBytes: request.capacityRange?.requiredBytes ?? 0n };
  },
  nodeGetVolumeStats: async (request) => {
    await seen('NodeGetVolumeStats', request);
    const total = BigInt(found(disks, request.volumeId).bytes);
    return { usage: [{ unit: Unit.BYTES, total, used: 4096n, available: total - 4096n }] };
  },
});

function link(at: string, to: string): void {
  if (lstatSync(at, { throwIfNoEntry: false }) !== undefined) return;
  mkdirSync(path.dirname(at), { recursive: true });
  symlinkSync(to, at);
}
