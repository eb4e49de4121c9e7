export { watchAnswer } from './answers.ts';
export { type Asked, readAsked } from './asked.ts';
export { isOf, type LensClient } from './client-of.ts';
export { type Lens, Lenses, type LensHit, type LensOptions, lensSettings } from './lenses.ts';
export { through } from './outlet.ts';
export { objectOf, type Point, revisionOf } from './point.ts';
export { LENS_KINDS, type LensKindName } from './registry.ts';
