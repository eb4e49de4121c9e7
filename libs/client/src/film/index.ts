export { CHANGES_MAX, type HistoryFound, type ReadDocument, readChanges } from '../history/read-changes.ts';
export { documentOf } from './document.ts';
export { filmsOf } from './film.ts';
export { type Bar, type FilmLayout, type LaneLayout, LEGEND, layoutOf, type Tone } from './layout.ts';
export type { Film, FilmMaterial, Lane, LaneKind, Remark, Step, StepKind } from './model.ts';
export { podName } from './names.ts';
export { type FilmSource, type MaterialFound, readMaterial } from './read.ts';
export {
  afterText,
  causeText,
  headline,
  laneName,
  lastedText,
  leftText,
  stepsInOrder,
  type ToldStep,
} from './told.ts';
