import { readFileSync, statfsSync } from 'node:fs';
import {
  arch,
  availableParallelism,
  hostname,
  type NetworkInterfaceInfo,
  networkInterfaces,
  platform,
  release,
  totalmem,
} from 'node:os';
import type { NodeFacts } from '../domain/node-status.ts';
import { MAX_PODS_PER_NODE } from '../limits.ts';

/**
 * This machine as a node. Of several nodes on one machine each has all of it as its capacity, and an equal part of it to
 * give: together they promise no more than there is.
 */
export function readMachineFacts(options: {
  readonly name: string;
  readonly stateDirectory: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly maxPods?: number;
  /** The number of nodes that share the machine. */
  readonly sharedBy?: number;
  /** Pods are containers: those of a Mac run in a virtual machine with Linux. */
  readonly hasContainers?: boolean;
  readonly system?: NodeJS.Platform;
}): NodeFacts {
  const { hasContainers = false, system = platform() } = options;
  const machineId = readText('/etc/machine-id');
  const capacity = {
    cpu: String(availableParallelism()),
    'ephemeral-storage': `${diskKibibytes(options.stateDirectory)}Ki`,
    memory: `${Math.floor(totalmem() / 1024)}Ki`,
    pods: String(options.maxPods ?? MAX_PODS_PER_NODE),
  };
  return {
    name: options.name,
    address: machineAddress(),
    hostname: hostname(),
    runtimeName: 'process',
    labels: options.labels ?? {},
    capacity,
    allocatable: shareOf(capacity, options.sharedBy ?? 1),
    nodeInfo: {
      architecture: ARCHITECTURES.get(arch()) ?? arch(),
      bootID: readText('/proc/sys/kernel/random/boot_id'),
      kernelVersion: release(),
      machineID: machineId,
      operatingSystem: hasContainers ? 'linux' : system,
      osImage: /^PRETTY_NAME="?([^"\n]*)/m.exec(readText('/etc/os-release'))?.[1] ?? platform(),
      systemUUID: machineId,
    },
  };
}

/** Pods are not divided: nothing runs out of them. */
export function shareOf(
  capacity: Readonly<Record<string, string>>,
  sharedBy: number,
): Readonly<Record<string, string>> {
  if (sharedBy <= 1) return capacity;
  const entries = Object.entries(capacity).map(([name, text]) => {
    if (name === 'cpu') return [name, `${Math.floor((Number(text) * 1000) / sharedBy)}m`];
    return name === 'pods' ? [name, text] : [name, `${Math.floor(Number.parseInt(text, 10) / sharedBy)}Ki`];
  });
  return Object.fromEntries(entries);
}

const ARCHITECTURES: ReadonlyMap<string, string> = new Map(Object.entries({ x64: 'amd64', ia32: '386' }));

/** The first address others can reach; a machine without network still runs pods for itself. */
export const machineAddress = (): string => addressAmong(networkInterfaces());

type Interfaces = Readonly<
  Record<string, readonly Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>[] | undefined>
>;

/** Nobody else reaches an address of one link, such as the link to the network of pods. Pure. */
export function addressAmong(interfaces: Interfaces): string {
  const addresses = Object.values(interfaces).flatMap((each) => each ?? []);
  const outside = addresses.filter(({ internal, address }) => !internal && !isOfLink(address));
  return (outside.find(({ family }) => family === 'IPv4') ?? outside[0])?.address ?? '127.0.0.1';
}

const isOfLink = (address: string): boolean => /^(?:169\.254\.|fe[89ab])/i.test(address);

function diskKibibytes(directory: string): number {
  const { blocks, bsize } = statfsSync(directory);
  return Math.floor((blocks * bsize) / 1024);
}

/** '' where this system does not have it. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return '';
    throw error;
  }
}
