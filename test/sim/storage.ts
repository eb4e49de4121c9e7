import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, type PersistentVolume, PODS, type Pod } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import type { FenceRequest } from '@holdfast/fencer';
import type { Oracle } from '@holdfast/testing';
import type { SimCluster } from './cluster.ts';

export const STORAGE_SERVER = '10.0.0.9';
export const STORAGE_LABELS = { storagecluster: 'iscsi-1' };
export const DISK = { name: 'disk' };

/** A disk server that accepts writes of every node that can reach it, except those its firewall blocks. */
export class SimStorageServer implements Oracle {
  readonly name = 'at most one node writes to the disk';
  readonly #cluster: SimCluster;
  readonly #users: readonly string[];
  readonly #kept = new Set<string>();

  /** `users` are the pods that have the disk mounted and write to it as long as they live. */
  constructor(cluster: SimCluster, users: readonly string[]) {
    this.#cluster = cluster;
    this.#users = users;
    cluster.kernel.addOracle(this);
  }

  /** Acts as the storage-firewall agent. */
  guard({ action, node }: FenceRequest): void {
    if (action === 'fence') this.#kept.add(node.name);
    else this.#kept.delete(node.name);
  }

  accepts(node: string): boolean {
    return !this.#kept.has(node);
  }

  /** Nodes whose living processes write, and are let in. */
  writers(): readonly string[] {
    const nodes = this.#users.flatMap((pod) => this.#cluster.oracle.nodesOf('default', pod));
    return [...new Set(nodes)].filter((node) => this.accepts(node));
  }

  check(): string | undefined {
    const writers = this.writers();
    return writers.length > 1 ? `${writers.join(' and ')} write to one disk` : undefined;
  }
}

const disk: PersistentVolume = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { ...DISK, labels: STORAGE_LABELS },
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '1Gi' },
    iscsi: { targetPortal: `${STORAGE_SERVER}:3260`, iqn: 'iqn.2026-11.example:disk', lun: 0 },
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'storagecluster', operator: 'In', values: ['iscsi-1'] }] }],
      },
    },
  },
  status: {},
};

/** A disk of the storage server, and a claim that is bound to it. */
export async function createDisk(admin: ApiClient): Promise<void> {
  await admin.create(PERSISTENT_VOLUMES, disk);
  await admin.create(PERSISTENT_VOLUME_CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
    status: {},
  });
}

/** A pod with the disk, on this node, that takes its time to end. */
export const createDiskUser = (
  admin: ApiClient,
  { name, node, secondsToStop }: { readonly name: string; readonly node: string; readonly secondsToStop: number },
): Promise<Pod> =>
  admin.create(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: name } },
    spec: {
      nodeSelector: { 'kubernetes.io/hostname': node },
      terminationGracePeriodSeconds: secondsToStop + 100,
      containers: [
        {
          name: 'main',
          image: 'busybox',
          command: ['stop-after', String(secondsToStop)],
          resources: {},
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
      ],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    },
    status: {},
  });
