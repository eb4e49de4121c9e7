export type Texts = Readonly<Record<string, string>>;

/** Places that reach a volume: labels of nodes. */
export type Segments = Texts;

/** How a volume will be used, without the driver's own words for it. */
export interface UseForm {
  readonly volumeMode: string | undefined;
  readonly accessModes: readonly string[];
  readonly fsType: string | undefined;
  readonly mountOptions: readonly string[];
}

export interface ControllerAbilities {
  readonly provisions: boolean;
  /** Without this the driver has no attach step: its volumes count as attached. */
  readonly attaches: boolean;
  readonly expands: boolean;
  /** Volumes of this driver are not reachable from every node. */
  readonly hasTopology: boolean;
}

export interface CreateRequest {
  /** Repeated with every attempt: the same name is the same volume. */
  readonly name: string;
  readonly bytes: number;
  readonly form: UseForm;
  readonly parameters: Texts;
  readonly secrets: Texts;
  /** Absent: the driver has no topology. */
  readonly topology?: { readonly requisite: readonly Segments[]; readonly preferred: readonly Segments[] } | undefined;
}

export interface CreatedVolume {
  readonly volumeId: string;
  /** 0: the driver does not say. */
  readonly bytes: number;
  readonly context: Texts;
  readonly topology: readonly Segments[];
}

export interface AttachRequest {
  readonly volumeId: string;
  readonly nodeId: string;
  readonly form: UseForm;
  readonly readOnly: boolean;
  readonly context: Texts;
  readonly secrets: Texts;
}

export interface ExpandRequest {
  readonly volumeId: string;
  readonly bytes: number;
  readonly form: UseForm;
  readonly secrets: Texts;
}

/**
 * The controller service of a CSI driver. Every call is idempotent, has a deadline and rejects with a `DriverError`
 * that carries the driver's message.
 */
export interface ControllerDriver {
  readonly name: string;
  /** Asks the driver once; rejects when it does not answer, or calls itself something else. */
  abilities(): Promise<ControllerAbilities>;
  create(request: CreateRequest): Promise<CreatedVolume>;
  delete(request: { readonly volumeId: string; readonly secrets: Texts }): Promise<void>;
  /** Returns what nodes need to know about the attachment. */
  attach(request: AttachRequest): Promise<Texts>;
  detach(request: { readonly volumeId: string; readonly nodeId: string; readonly secrets: Texts }): Promise<void>;
  expand(request: ExpandRequest): Promise<{ readonly bytes: number; readonly onNode: boolean }>;
  /** Ends all calls. */
  close(): void;
}

/** A call that failed, in the words of the driver (as Kubernetes shows it), and what that means. */
export class DriverError extends Error {
  override readonly name = 'DriverError';
  /** The driver did nothing, and the same request will fail again. */
  readonly isRefusal: boolean;
  /** The volume cannot be made at this place; another place may do. */
  readonly isExhausted: boolean;

  constructor(message: string, of: { readonly isRefusal: boolean; readonly isExhausted?: boolean }) {
    super(message);
    this.isRefusal = of.isRefusal;
    this.isExhausted = of.isExhausted === true;
  }
}
