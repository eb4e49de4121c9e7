/** The images of a runtime that has some. Rejects with `RuntimeError`. */
export interface RuntimeImages {
  /** `undefined`: not on this node. */
  status(image: string): Promise<ImageStatus | undefined>;
  /** Resolves with the id of the image. May take minutes; the signal calls it off. */
  pull(image: string, credentials: RegistryCredentials | undefined, watch: PullWatch): Promise<string>;
  list(): Promise<readonly ImageStatus[]>;
  remove(id: string): Promise<void>;
  /** Ids and names of the images that containers have, of this node or another one of the runtime, and of what the runtime needs itself. */
  used(): Promise<ReadonlySet<string>>;
  /** The directory of images on this machine's disk; `undefined` when the runtime does not report it. */
  directory(): Promise<string | undefined>;
}

export interface PullWatch {
  readonly signal: AbortSignal;
  /** Called as often as the runtime says something; runtimes without figures never do. */
  readonly onProgress?: (progress: PullProgress) => void;
}

/** The sum of all layers that the runtime has named so far. */
export interface PullProgress {
  readonly bytes: number;
  readonly totalBytes: number;
  readonly layers: number;
  readonly layersDone: number;
}

export interface ImageStatus {
  readonly id: string;
  /** Names with digests, then names with tags. */
  readonly names: readonly string[];
  readonly sizeBytes: number;
  /** Protected from removal in the runtime. */
  readonly pinned?: boolean;
  /** The image's user as a number or a name; neither means root. */
  readonly user?: number;
  readonly userName?: string;
}

export interface RegistryCredentials {
  readonly server: string;
  readonly username: string;
  readonly password: string;
  readonly identityToken: string;
}
