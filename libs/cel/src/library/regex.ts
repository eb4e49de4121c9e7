import { FINDS } from '../estimates.ts';
import { type Functions, FunctionTable, signature } from '../overload.ts';
import type { Pattern } from '../patterns.ts';
import { INT, listOf, STRING } from '../types.ts';
import { ArrayList, type CelValue } from '../values.ts';

/** `find` returns the first match or an empty string. `findAll` returns all matches up to the given limit. */
export const REGEX: Functions = new FunctionTable()
  .member(
    'find',
    'string_find_string',
    signature([STRING, STRING], STRING),
    ([text, pattern], { patterns }) => findAll(patterns.get(pattern as string), text as string, 1)[0] ?? '',
    FINDS,
  )
  .member(
    'findAll',
    'string_find_all_string',
    signature([STRING, STRING], listOf(STRING)),
    ([text, pattern], { patterns }) => listed(patterns.get(pattern as string), text as string, -1),
    FINDS,
  )
  .member(
    'findAll',
    'string_find_all_string_int',
    signature([STRING, STRING, INT], listOf(STRING)),
    ([text, pattern, limit], { patterns }) => listed(patterns.get(pattern as string), text as string, Number(limit)),
    FINDS,
  )
  .build();

function listed(pattern: Pattern, text: string, limit: number): CelValue {
  return new ArrayList(findAll(pattern, text, limit));
}

function findAll(pattern: Pattern, text: string, limit: number): string[] {
  const found: string[] = [];
  const matcher = pattern.matcher(text);
  while (found.length !== limit && matcher.find()) found.push(matcher.group() ?? '');
  return found;
}
