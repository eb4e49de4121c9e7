import { FINDS } from '../estimates.ts';
import { type Functions, FunctionTable, signature } from '../overload.ts';
import { findMatches } from '../patterns.ts';
import { INT, listOf, STRING } from '../types.ts';
import { ArrayList } from '../values.ts';

/** `find` returns the first match or an empty string. `findAll` returns all matches up to the given limit. */
export const REGEX: Functions = new FunctionTable()
  .member(
    'find',
    'string_find_string',
    signature([STRING, STRING], STRING),
    ([text, pattern], { meter }) => findMatches(text as string, pattern as string, 1, meter)[0] ?? '',
    FINDS,
  )
  .member(
    'findAll',
    'string_find_all_string',
    signature([STRING, STRING], listOf(STRING)),
    ([text, pattern], { meter }) => new ArrayList(findMatches(text as string, pattern as string, -1, meter)),
    FINDS,
  )
  .member(
    'findAll',
    'string_find_all_string_int',
    signature([STRING, STRING, INT], listOf(STRING)),
    ([text, pattern, limit], { meter }) =>
      new ArrayList(findMatches(text as string, pattern as string, Number(limit), meter)),
    FINDS,
  )
  .build();
