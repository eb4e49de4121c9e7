export { type Lens, Lenses, type LensHit, type LensOptions, lensSettings } from './lenses.ts';
export { LENS_KINDS, type LensKindName } from './registry.ts';
