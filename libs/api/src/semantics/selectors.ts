import {
  compileLabelMap,
  compileLabelSelector,
  type LabelSelectorMatcher,
  type LabelSelectorObject,
  NOTHING,
  SelectorError,
} from '@holdfast/machinery';

const compiledSelectors = new WeakMap<LabelSelectorObject, LabelSelectorMatcher>();
const compiledMaps = new WeakMap<Readonly<Record<string, string>>, LabelSelectorMatcher>();

/**
 * Returns the matcher of a stored selector: an absent one selects nothing, an empty one everything. An invalid one also
 * selects nothing: validation accepted it, so there is nobody to report to. Cached objects never change, so each
 * selector is compiled once.
 */
export function selectorOf(selector: LabelSelectorObject | null | undefined): LabelSelectorMatcher {
  if (selector === undefined || selector === null) return NOTHING;
  const known = compiledSelectors.get(selector);
  if (known !== undefined) return known;
  const compiled = compileOrNothing(() => compileLabelSelector(selector));
  compiledSelectors.set(selector, compiled);
  return compiled;
}

/** The older map form of Services and ReplicationControllers. An absent or empty one selects nothing. */
export function mapSelectorOf(pairs: Readonly<Record<string, string>> | null | undefined): LabelSelectorMatcher {
  if (pairs === undefined || pairs === null || Object.keys(pairs).length === 0) return NOTHING;
  const known = compiledMaps.get(pairs);
  if (known !== undefined) return known;
  const compiled = compileLabelMap(pairs);
  compiledMaps.set(pairs, compiled);
  return compiled;
}

/** An invalid selector selects nothing. */
export function compileOrNothing(compile: () => LabelSelectorMatcher): LabelSelectorMatcher {
  try {
    return compile();
  } catch (error) {
    if (error instanceof SelectorError) return NOTHING;
    throw error;
  }
}
