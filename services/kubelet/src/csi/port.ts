import type { VolumeUseForm } from '@holdfast/client/csi';

type Texts = Readonly<Record<string, string>>;

/** What a driver reports of this node. */
export interface DriverNode {
  readonly nodeId: string;
  /** 0: no limit. */
  readonly maxVolumes: number;
  /** Labels of the node that the driver's volumes refer to. */
  readonly topology: Texts;
}

export interface DriverAbilities {
  readonly stages: boolean;
  readonly expands: boolean;
  readonly reportsUsage: boolean;
  readonly knowsSingleWriter: boolean;
  readonly setsGroup: boolean;
}

/** Paths and identity of a volume on this node. */
export interface StagedVolume {
  readonly volumeId: string;
  /** Empty when the driver does not stage. */
  readonly stagingPath: string;
}

export interface StageRequest extends StagedVolume {
  readonly form: Omit<VolumeUseForm, 'knowsSingleWriter' | 'mountGroup'> & { readonly group?: string | undefined };
  readonly context: Texts;
  readonly publishContext: Texts;
  readonly secrets: Texts;
}

export interface PublishRequest extends StageRequest {
  readonly targetPath: string;
  readonly readOnly: boolean;
}

export interface ExpandRequest extends StagedVolume {
  readonly targetPath: string;
  readonly form: StageRequest['form'];
  readonly bytes: number;
  readonly secrets: Texts;
}

export interface VolumeUsage {
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly availableBytes: number;
  /** Absent: the driver does not count them. */
  readonly inodes?: { readonly total: number; readonly used: number; readonly free: number };
}

/** The usage of a volume of a pod. */
export interface PodVolumeUsage {
  /** Its name in the pod. */
  readonly name: string;
  /** Absent: an inline volume. */
  readonly claim: string | undefined;
  readonly usage: VolumeUsage;
}

/** A registered CSI driver of this node. All calls are idempotent, have a deadline and reject with the driver's message. */
export interface NodeDriver {
  readonly name: string;
  readonly node: DriverNode;
  readonly can: DriverAbilities;
  stage(request: StageRequest): Promise<void>;
  unstage(request: StagedVolume): Promise<void>;
  publish(request: PublishRequest): Promise<void>;
  unpublish(request: {
    readonly volumeId: string;
    readonly targetPath: string;
    /** Nothing of it may reach the storage later. */
    readonly isExclusive?: boolean | undefined;
  }): Promise<void>;
  expand(request: ExpandRequest): Promise<void>;
  /** Asks the server of a volume something, in a process of its own. Absent: the driver has no servers. */
  look?(targetPath: string): Promise<void>;
  usage(request: StagedVolume & { readonly targetPath: string }): Promise<VolumeUsage | undefined>;
  close(): void;
}
