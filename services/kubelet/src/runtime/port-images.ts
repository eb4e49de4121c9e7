/** The images of a runtime that has some. Rejects with `RuntimeError`. */
export interface RuntimeImages {
  /** `undefined`: not on this node. */
  status(image: string): Promise<ImageStatus | undefined>;
  /** Resolves with the id of the image. May take minutes; the signal calls it off. */
  pull(image: string, credentials: RegistryCredentials | undefined, signal: AbortSignal): Promise<string>;
  list(): Promise<readonly ImageStatus[]>;
  remove(id: string): Promise<void>;
}

export interface ImageStatus {
  readonly id: string;
  /** Names with digests, then names with tags. */
  readonly names: readonly string[];
  readonly sizeBytes: number;
  /** Who it runs as: a number or a name, as the image says; neither: root. */
  readonly user?: number;
  readonly userName?: string;
}

export interface RegistryCredentials {
  readonly server: string;
  readonly username: string;
  readonly password: string;
  readonly identityToken: string;
}
