/** An object of flow control that every cluster has. */
export interface BootstrapObject<Spec> {
  readonly name: string;
  readonly spec: Spec;
  /** Its spec cannot be changed; of the others users may take the care over. */
  readonly isMandatory: boolean;
}
