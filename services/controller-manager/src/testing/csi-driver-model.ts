import { type ControllerAbilities, type ControllerDriver, DriverError } from '../csi/port.ts';

export const MODEL_DRIVER = 'disk.test';

interface Disk {
  readonly name: string;
  bytes: number;
  readonly nodes: Set<string>;
}

/** A driver with the rules of CSI, and with faults before and after its work. */
export class CsiDriverModel implements ControllerDriver {
  readonly name = MODEL_DRIVER;
  readonly disks = new Map<string, Disk>();
  readonly calls: string[] = [];
  can: ControllerAbilities = { provisions: true, attaches: true, expands: true, hasTopology: false };
  expandsOnNode = true;
  /** Throw from here: the driver did nothing. */
  before: (call: string) => void = () => {};
  /** Throw from here: the work is done and the answer is lost. */
  after: (call: string) => void = () => {};

  abilities = async (): Promise<ControllerAbilities> => this.#do('abilities', () => this.can);

  create: ControllerDriver['create'] = async ({ name, bytes }) =>
    this.#do(`create ${name}`, () => {
      const volumeId = `vol-${name}`;
      if (!this.disks.has(volumeId)) this.disks.set(volumeId, { name, bytes, nodes: new Set() });
      return { volumeId, bytes: this.disks.get(volumeId)?.bytes ?? 0, context: {}, topology: [] };
    });

  delete: ControllerDriver['delete'] = async ({ volumeId }) =>
    this.#do(`delete ${volumeId}`, () => {
      if ((this.disks.get(volumeId)?.nodes.size ?? 0) > 0) throw new DriverError('in use', { isRefusal: true });
      this.disks.delete(volumeId);
    });

  attach: ControllerDriver['attach'] = async ({ volumeId, nodeId }) =>
    this.#do(`attach ${volumeId} ${nodeId}`, () => {
      this.disk(volumeId).nodes.add(nodeId);
      return { device: volumeId };
    });

  detach: ControllerDriver['detach'] = async ({ volumeId, nodeId }) =>
    this.#do(`detach ${volumeId} ${nodeId}`, () => void this.disks.get(volumeId)?.nodes.delete(nodeId));

  expand: ControllerDriver['expand'] = async ({ volumeId, bytes }) =>
    this.#do(`expand ${volumeId} ${bytes}`, () => {
      const disk = this.disk(volumeId);
      disk.bytes = Math.max(disk.bytes, bytes);
      return { bytes: disk.bytes, onNode: this.expandsOnNode };
    });

  close(): void {}

  disk(volumeId: string): Disk {
    const found = this.disks.get(volumeId);
    if (found === undefined) throw new DriverError('not found', { isRefusal: true });
    return found;
  }

  async #do<T>(call: string, work: () => T): Promise<T> {
    await Promise.resolve();
    if (call !== 'abilities') this.calls.push(call);
    this.before(call);
    const result = work();
    this.after(call);
    return result;
  }
}
