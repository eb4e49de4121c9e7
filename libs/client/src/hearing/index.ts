export type { Cell, HearingState } from './cells.ts';
export { type HearingFacts, type Party, partiesOf, type ServerReport } from './hearing.ts';
export { type HearingSource, readHearing } from './read.ts';
