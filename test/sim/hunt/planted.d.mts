export interface PlantedEdit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface PlantedBug extends Partial<PlantedEdit> {
  readonly name: string;
  readonly harm: string;
  readonly edits?: readonly PlantedEdit[];
}

export const PLANTED_BUGS: readonly PlantedBug[];
export function editsOf(bug: PlantedBug): readonly PlantedEdit[];
export function plantInto(edit: PlantedEdit, source: string): string;
