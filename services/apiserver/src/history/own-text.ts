import { HISTORY_TEXT_CHARS_MAX } from '../limits.ts';

/** A copy: a part of a text keeps the whole text in memory, be it a URL or a header of 60,000 characters. */
export const ownText = (text: string, charsMax = HISTORY_TEXT_CHARS_MAX): string =>
  text === '' ? text : Buffer.from(text.slice(0, charsMax), 'utf16le').toString('utf16le');

/** A text that is no part of another one, not longer than the history keeps. */
export const cut = (text: string): string => (text.length <= HISTORY_TEXT_CHARS_MAX ? text : ownText(text));
