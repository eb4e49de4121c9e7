/** An object of flow control that every cluster has. */
export interface BootstrapObject<Spec> {
  readonly name: string;
  readonly spec: Spec;
  /** True: its spec is fixed. Users may take over the maintenance of the others. */
  readonly isMandatory: boolean;
}
