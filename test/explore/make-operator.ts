import type { OperatorForm } from './framework.ts';

/** The operator with the planted bug, or its correct twin. */
export type MakeOperator = (isPlanted: boolean) => OperatorForm;
