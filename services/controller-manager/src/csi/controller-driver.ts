import type { CsiClients, CsiConnection, capabilityOf } from '@holdfast/client/csi';
import { type Clock, describeError } from '@holdfast/platform';
import type { CsiDriverAddress } from './addresses.ts';
import { type ControllerAbilities, type ControllerDriver, DriverError, type Segments, type UseForm } from './port.ts';

type Csi = typeof import('@holdfast/client/csi');

interface Opened {
  readonly csi: Csi;
  readonly connection: CsiConnection;
  readonly can: ControllerAbilities;
  /** One writer is distinguished from several on one node. */
  readonly knowsSingleWriter: boolean;
  readonly publishesReadOnly: boolean;
}

/** The controller service at a socket. The libraries of gRPC are loaded with the first call. */
export function openControllerDriver(address: CsiDriverAddress, clock: Clock): ControllerDriver {
  return new SocketDriver(address, clock);
}

class SocketDriver implements ControllerDriver {
  readonly name: string;
  readonly #address: CsiDriverAddress;
  readonly #clock: Clock;
  #opening: Promise<Opened> | undefined;
  #connection: CsiConnection | undefined;
  #isClosed = false;

  constructor(address: CsiDriverAddress, clock: Clock) {
    this.name = address.name;
    this.#address = address;
    this.#clock = clock;
  }

  async abilities(): Promise<ControllerAbilities> {
    return this.#ask(async ({ can }) => can);
  }

  create: ControllerDriver['create'] = ({ name, bytes, form, parameters, secrets, topology }) =>
    this.#call(async ({ controller }, options, opened) => {
      // One capability for each mode, as the external provisioner asks for them.
      const modes = form.accessModes.map((mode) => capability(opened, { ...form, accessModes: [mode] }));
      const { volume } = await controller.createVolume(
        {
          name,
          capacityRange: { requiredBytes: BigInt(bytes) },
          volumeCapabilities: modes,
          parameters,
          secrets,
          ...(topology === undefined
            ? {}
            : {
                accessibilityRequirements: {
                  requisite: topology.requisite.map(toTopology),
                  preferred: topology.preferred.map(toTopology),
                },
              }),
        },
        options,
      );
      if (volume === undefined || volume.volumeId === '') throw new Error('the driver returned no volume id');
      return {
        volumeId: volume.volumeId,
        bytes: Number(volume.capacityBytes),
        context: volume.volumeContext,
        topology: volume.accessibleTopology.map(({ segments }) => segments),
      };
    });

  delete: ControllerDriver['delete'] = (request) =>
    this.#call(async ({ controller }, options) => void (await controller.deleteVolume(request, options)));

  attach: ControllerDriver['attach'] = ({ volumeId, nodeId, form, readOnly, context, secrets }) =>
    this.#call(async ({ controller }, options, opened) => {
      const answer = await controller.controllerPublishVolume(
        {
          volumeId,
          nodeId,
          volumeCapability: capability(opened, form),
          readonly: readOnly && opened.publishesReadOnly,
          volumeContext: context,
          secrets,
        },
        options,
      );
      return answer.publishContext;
    });

  detach: ControllerDriver['detach'] = (request) =>
    this.#call(async ({ controller }, options) => void (await controller.controllerUnpublishVolume(request, options)));

  expand: ControllerDriver['expand'] = ({ volumeId, bytes, form, secrets }) =>
    this.#call(async ({ controller }, options, opened) => {
      const answer = await controller.controllerExpandVolume(
        {
          volumeId,
          capacityRange: { requiredBytes: BigInt(bytes) },
          volumeCapability: capability(opened, form),
          secrets,
        },
        options,
      );
      return { bytes: Number(answer.capacityBytes), onNode: answer.nodeExpansionRequired };
    });

  close(): void {
    this.#isClosed = true;
    this.#connection?.close();
  }

  #call<T>(work: (clients: CsiClients, options: { signal: AbortSignal }, opened: Opened) => Promise<T>): Promise<T> {
    return this.#ask((opened) => opened.connection.call((clients, options) => work(clients, options, opened)));
  }

  async #ask<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#open());
    } catch (error) {
      // The driver may be another one when it answers again.
      this.#opening = undefined;
      throw await toDriverError(error);
    }
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#openNow();
    return this.#opening;
  }

  async #openNow(): Promise<Opened> {
    const csi = await import('@holdfast/client/csi');
    if (this.#isClosed) throw new csi.CsiError('Canceled', 'the controllers end');
    this.#connection ??= new csi.CsiConnection(this.#address.socket, this.#clock);
    return describe(csi, this.#connection, this.#address);
  }
}

async function describe(csi: Csi, connection: CsiConnection, { name, socket }: CsiDriverAddress): Promise<Opened> {
  const ask = <T>(work: Parameters<typeof connection.call<T>>[0]): Promise<T> =>
    connection.call(work, csi.QUICK_DEADLINE_MS);
  const info = await ask(({ identity }, options) => identity.getPluginInfo({}, options));
  if (info.name !== name) {
    const message = `the driver at ${socket} calls itself "${info.name}", not "${name}": correct --csi-drivers`;
    throw new csi.CsiError('FailedPrecondition', message);
  }
  const plugin = await ask(({ identity }, options) => identity.getPluginCapabilities({}, options));
  const services = new Set(
    plugin.capabilities.flatMap(({ type }) => (type.case === 'service' ? [type.value.type] : [])),
  );
  const { CONTROLLER_SERVICE, VOLUME_ACCESSIBILITY_CONSTRAINTS } = csi.PluginCapability_Service_Type;
  const answer = services.has(CONTROLLER_SERVICE)
    ? await ask(({ controller }, options) => controller.controllerGetCapabilities({}, options))
    : { capabilities: [] };
  const Rpc = csi.ControllerServiceCapability_RPC_Type;
  const calls = new Set(answer.capabilities.flatMap(({ type }) => (type.case === 'rpc' ? [type.value.type] : [])));
  return {
    csi,
    connection,
    can: {
      provisions: calls.has(Rpc.CREATE_DELETE_VOLUME),
      attaches: calls.has(Rpc.PUBLISH_UNPUBLISH_VOLUME),
      expands: calls.has(Rpc.EXPAND_VOLUME),
      hasTopology: services.has(VOLUME_ACCESSIBILITY_CONSTRAINTS),
    },
    knowsSingleWriter: calls.has(Rpc.SINGLE_NODE_MULTI_WRITER),
    publishesReadOnly: calls.has(Rpc.PUBLISH_READONLY),
  };
}

const capability = ({ csi, knowsSingleWriter }: Opened, form: UseForm): ReturnType<typeof capabilityOf> =>
  csi.capabilityOf({ ...form, knowsSingleWriter });

const toTopology = (segments: Segments): { readonly segments: Record<string, string> } => ({
  segments: { ...segments },
});

async function toDriverError(error: unknown): Promise<DriverError> {
  const { CsiError, isFinal } = await import('@holdfast/client/csi');
  const code = error instanceof CsiError ? error.code : '';
  // A volume of that name exists.
  const isRefusal = isFinal(error) && code !== 'AlreadyExists';
  const message = error instanceof CsiError ? error.message : describeError(error);
  return new DriverError(message, { isRefusal, isExhausted: code === 'ResourceExhausted' });
}
