import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Code, ConnectError } from '@connectrpc/connect';
import { CSI_DRIVERS, CSI_NODES, type CSIDriver, STORAGE_CLASSES, type StorageClass } from '@holdfast/api';
import { createApiServer } from '@holdfast/apiserver';
import { createRelay } from '@holdfast/apiserver/relay';
import { createLocalBus } from '@holdfast/bus/local';
import { type ApiClient, createApiClient, createDirectTransport } from '@holdfast/client';
import { type ControllerDriver, createControllerManager } from '@holdfast/controller-manager';
import { openControllerDriver } from '@holdfast/controller-manager/csi-driver';
import { createKubelet, createProbeNetwork, readMachineFacts } from '@holdfast/kubelet';
import { createProcessRuntime } from '@holdfast/kubelet/process-runtime';
import { createIds, createSilentLog, createSystemClock, createSystemRandom, type Service } from '@holdfast/platform';
import { createScheduler } from '@holdfast/scheduler';
import { createMemoryStore } from '@holdfast/store/memory';
import { DiskStore } from './csi-driver/disk-store.ts';
import { serveCsiDriver } from './csi-driver/serve.ts';
import { waitFor } from './wait.ts';
import { usersOf } from './whole-cluster.ts';

export const DRIVER = 'disk.test.holdfast.io';

const clock = createSystemClock();
const random = createSystemRandom();
const tools = { clock, random, ids: createIds(random), log: createSilentLog() };

export interface CsiClusterOptions {
  readonly nodes?: readonly string[];
  /** Between the controllers and the driver. */
  readonly around?: (driver: ControllerDriver) => ControllerDriver;
}

/** The control plane with its CSI controllers, and nodes with real processes and a driver on real sockets each. */
export class CsiCluster implements AsyncDisposable {
  readonly admin: ApiClient;
  readonly disks: DiskStore;
  readonly root = mkdtempSync(path.join(tmpdir(), 'holdfast-csi-cluster-'));
  /** Calls of all parts of the driver, with the machine: `node-a NodeStageVolume`. */
  readonly calls: string[] = [];
  /** Calls that fail, with their message. */
  readonly faults = new Map<string, string>();
  readonly #options: CsiClusterOptions;
  readonly #clientOf: (token: string) => ApiClient;
  readonly #bus = createLocalBus();
  readonly #ends: (() => Promise<void>)[] = [];
  #manager: Service | undefined;
  #controller: AsyncDisposable | undefined;

  private constructor(options: CsiClusterOptions, clientOf: (token: string) => ApiClient) {
    this.#options = options;
    this.#clientOf = clientOf;
    this.admin = clientOf('admin');
    this.disks = new DiskStore(path.join(this.root, 'disks'));
  }

  static async start(options: CsiClusterOptions = {}): Promise<CsiCluster> {
    const { nodes = ['a'] } = options;
    const store = createMemoryStore();
    const server = createApiServer({ ...tools, store, tokens: usersOf(nodes) });
    const transport = createDirectTransport(server.handle);
    const cluster = new CsiCluster(options, (token) =>
      createApiClient({ transport, token, userAgent: `test/${token}` }),
    );
    const relay = createRelay({ ...tools, store, bus: cluster.#bus, knownState: server.knownState });
    const scheduler = createScheduler({ ...tools, bus: cluster.#bus, client: cluster.#clientOf('scheduler') });
    for (const service of [server, relay, scheduler]) await cluster.#run(service);
    await cluster.startController();
    await cluster.startManager();
    for (const name of nodes) await cluster.#startNode(name);
    await waitFor('the driver is registered', async () => {
      const { items } = await cluster.admin.list(CSI_NODES);
      return items.filter(({ spec }) => (spec.drivers ?? []).length > 0).length === nodes.length;
    });
    return cluster;
  }

  async #run(service: Service): Promise<void> {
    await service.start();
    this.#ends.push(() => service.stop());
  }

  async startManager(): Promise<void> {
    const { around } = this.#options;
    const openCsiDriver = (...given: Parameters<typeof openControllerDriver>) => {
      const driver = openControllerDriver(...given);
      return around === undefined ? driver : around(driver);
    };
    const clients = { manager: this.#clientOf('manager'), podGc: this.#clientOf('podGc') };
    const csiDrivers = [{ name: DRIVER, socket: path.join(this.root, 'controller.sock') }];
    this.#manager = createControllerManager({
      ...tools,
      openCsiDriver,
      bus: this.#bus,
      clients,
      settings: { csiDrivers },
    });
    await this.#manager.start();
  }

  stopManager = async (): Promise<void> => this.#manager?.stop();

  async startController(): Promise<void> {
    const endpoint = path.join(this.root, 'controller.sock');
    this.#controller = await serveCsiDriver({ ...this.#driver('controller'), endpoint });
  }

  stopController = async (): Promise<void> => this.#controller?.[Symbol.asyncDispose]();

  #driver(machine: string) {
    return {
      name: DRIVER,
      root: path.join(this.root, 'disks'),
      onCall: (call: string) => {
        this.calls.push(`${machine} ${call}`);
        const fault = this.faults.get(call);
        if (fault !== undefined) throw new ConnectError(fault, Code.Internal);
      },
    };
  }

  async #startNode(name: string): Promise<void> {
    const state = path.join(this.root, name);
    const endpoint = path.join(state, 'plugins_registry', 'disk.sock');
    const driver = await serveCsiDriver({ ...this.#driver(name), nodeId: `machine-${name}`, endpoint });
    const node = { ...readMachineFacts({ name, stateDirectory: this.root }), address: '127.0.0.1' };
    const runtime = createProcessRuntime({ stateDirectory: state, ...tools, nodeAddress: () => node.address });
    const client = this.#clientOf(`node-${name}`);
    const kubelet = createKubelet({
      ...tools,
      client,
      runtime,
      network: createProbeNetwork(clock),
      node,
      csi: { root: state },
    });
    this.#ends.push(async () => {
      await kubelet.stop();
      await runtime.shutdown(0);
      await driver[Symbol.asyncDispose]();
    });
    await kubelet.start();
  }

  /** A class of the driver, and the driver itself. */
  async makeClass(fields: Partial<StorageClass> = {}, driver: Partial<CSIDriver['spec']> = {}): Promise<void> {
    await this.admin.create(CSI_DRIVERS, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name: DRIVER },
      spec: driver,
    });
    await this.admin.create(STORAGE_CLASSES, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'disk' },
      provisioner: DRIVER,
      volumeBindingMode: 'WaitForFirstConsumer',
      allowVolumeExpansion: true,
      ...fields,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopManager();
    for (const end of this.#ends.toReversed()) await end();
    await this.stopController();
    await this.#bus.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}
