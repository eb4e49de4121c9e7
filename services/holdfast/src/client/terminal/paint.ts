import { styleText } from 'node:util';

/** What a text means; a terminal shows it by a colour. */
export interface Paint {
  readonly good: (text: string) => string;
  readonly caution: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly strong: (text: string) => string;
  readonly faint: (text: string) => string;
}

const same = (text: string): string => text;

export const PLAIN: Paint = { good: same, caution: same, bad: same, strong: same, faint: same };

type Style = Parameters<typeof styleText>[0];

/** The stream was looked at before (`wantsColours`). */
const painter =
  (style: Style) =>
  (text: string): string =>
    text === '' ? text : styleText(style, text, { validateStream: false });

export const COLOURED: Paint = {
  good: painter('green'),
  caution: painter('yellow'),
  bad: painter('red'),
  strong: painter('bold'),
  faint: painter('dim'),
};

/** Makes the head of a table strong. */
export const paintHead =
  ({ strong }: Paint) =>
  (text: string, row: number): string =>
    row === 0 ? strong(text) : text;
