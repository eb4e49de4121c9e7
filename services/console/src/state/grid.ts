/** How characters look. Colours are numbers of the usual palette of 16; -1 is none. */
export interface Pen {
  readonly ink: number;
  readonly ground: number;
  readonly isBold: boolean;
  readonly isInverse: boolean;
  readonly isUnderlined: boolean;
}

export interface Cell {
  readonly char: string;
  readonly pen: Pen;
}

export const PLAIN: Pen = { ink: -1, ground: -1, isBold: false, isInverse: false, isUnderlined: false };
const EMPTY: Cell = { char: ' ', pen: PLAIN };
const COLUMNS_MAX = 500;
const ROWS_MAX = 200;

/** The cells of one screen and its cursor. */
export class Grid {
  columns: number;
  rows: number;
  row = 0;
  /** May be one behind the last: the next character begins a new line. */
  column = 0;
  lines: Cell[][];
  #pen = PLAIN;
  /** Lines that scroll: from the first, before the second. */
  #region: readonly [number, number];

  constructor(columns: number, rows: number) {
    this.columns = clamp(columns, 1, COLUMNS_MAX);
    this.rows = clamp(rows, 1, ROWS_MAX);
    this.lines = Array.from({ length: this.rows }, () => this.#line());
    this.#region = [0, this.rows];
  }

  resize(columns: number, rows: number): void {
    const wanted = clamp(rows, 1, ROWS_MAX);
    this.columns = clamp(columns, 1, COLUMNS_MAX);
    // What is above goes: the line of the cursor stays.
    const gone = Math.max(0, this.row + 1 - wanted);
    const kept = this.lines.slice(gone, gone + wanted);
    this.lines = Array.from({ length: wanted }, (_, i) => {
      const line = kept[i] ?? [];
      return Array.from({ length: this.columns }, (__, j) => line[j] ?? EMPTY);
    });
    this.rows = wanted;
    this.#region = [0, wanted];
    this.moveTo(this.row - gone, this.column);
  }

  reset(): void {
    this.#pen = PLAIN;
    this.#region = [0, this.rows];
    this.eraseScreen(2);
    this.moveTo(0, 0);
  }

  put(char: string): void {
    if (this.column >= this.columns) {
      this.column = 0;
      this.feed();
    }
    const line = this.lines[this.row];
    if (line !== undefined) line[this.column] = { char, pen: this.#pen };
    this.column += 1;
  }

  moveTo(row: number, column: number): void {
    this.row = clamp(row, 0, this.rows - 1);
    this.column = clamp(column, 0, this.columns - 1);
  }

  feed(): void {
    if (this.row === this.#region[1] - 1) this.scroll(1);
    else this.row = Math.min(this.row + 1, this.rows - 1);
  }

  feedBack(): void {
    if (this.row === this.#region[0]) this.scroll(-1);
    else this.row = Math.max(this.row - 1, 0);
  }

  setRegion(top: number, bottom: number): void {
    if (top < 0 || bottom > this.rows || bottom - top < 2) return;
    this.#region = [top, bottom];
    this.moveTo(0, 0);
  }

  /** Up by so many lines, or down for less than 0. */
  scroll(count: number): void {
    this.#shift(this.#region[0], count);
  }

  insertLines(count: number): void {
    if (this.#isInRegion()) this.#shift(this.row, -count);
  }

  removeLines(count: number): void {
    if (this.#isInRegion()) this.#shift(this.row, count);
  }

  insertChars(count: number): void {
    this.#editLine((line) => line.splice(this.column, 0, ...this.#cells(count)));
  }

  removeChars(count: number): void {
    this.#editLine((line) => {
      line.splice(this.column, count);
      line.push(...this.#cells(count));
    });
  }

  erase(row: number, from: number, to: number): void {
    const line = this.lines[row];
    if (line !== undefined)
      line.fill({ char: ' ', pen: { ...PLAIN, ground: this.#pen.ground } }, from, Math.min(to, this.columns));
  }

  /** 0: from the cursor on, 1: up to it, 2: all of it. */
  eraseLine(how: number): void {
    this.erase(this.row, how === 0 ? this.column : 0, how === 1 ? this.column + 1 : this.columns);
  }

  eraseScreen(how: number): void {
    if (how < 2) this.eraseLine(how);
    const [from, to] = how === 0 ? [this.row + 1, this.rows] : [0, how === 1 ? this.row : this.rows];
    for (let row = from; row < to; row++) this.erase(row, 0, this.columns);
  }

  /** The numbers of a `m` sequence. */
  paint(numbers: readonly number[]): void {
    for (let i = 0; i < numbers.length; i++) {
      const number = numbers[i] ?? 0;
      if (number === 38 || number === 48) {
        // Of 256 colours the first 16 are ours; others are left out.
        const isIndex = numbers[i + 1] === 5;
        const index = isIndex ? (numbers[i + 2] ?? -1) : -1;
        const color = index < 16 ? index : -1;
        this.#pen = number === 38 ? { ...this.#pen, ink: color } : { ...this.#pen, ground: color };
        i += isIndex ? 2 : 4;
      } else this.#pen = painted(this.#pen, number);
    }
  }

  #isInRegion(): boolean {
    return this.row >= this.#region[0] && this.row < this.#region[1];
  }

  #shift(top: number, count: number): void {
    const height = this.#region[1] - top;
    const steps = clamp(count, -height, height);
    const blank = Array.from({ length: Math.abs(steps) }, () => this.#line());
    const moved = this.lines.slice(top, this.#region[1]);
    const next = steps > 0 ? [...moved.slice(steps), ...blank] : [...blank, ...moved.slice(0, height + steps)];
    this.lines.splice(top, height, ...next);
  }

  #editLine(edit: (line: Cell[]) => void): void {
    const line = this.lines[this.row];
    if (line === undefined) return;
    edit(line);
    line.length = this.columns;
  }

  #cells(count: number): Cell[] {
    return Array.from({ length: clamp(count, 0, this.columns) }, () => EMPTY);
  }

  #line(): Cell[] {
    return Array.from({ length: this.columns }, () => EMPTY);
  }
}

function painted(pen: Pen, number: number): Pen {
  if (number === 0) return PLAIN;
  if (number === 1 || number === 22) return { ...pen, isBold: number === 1 };
  if (number === 4 || number === 24) return { ...pen, isUnderlined: number === 4 };
  if (number === 7 || number === 27) return { ...pen, isInverse: number === 7 };
  const tens = Math.floor(number / 10);
  const color = number % 10;
  if (color > 7)
    return color === 9 && (tens === 3 || tens === 4) ? { ...pen, [tens === 3 ? 'ink' : 'ground']: -1 } : pen;
  if (tens === 3) return { ...pen, ink: color };
  if (tens === 4) return { ...pen, ground: color };
  if (tens === 9) return { ...pen, ink: color + 8 };
  return tens === 10 ? { ...pen, ground: color + 8 } : pen;
}

const clamp = (value: number, least: number, most: number): number =>
  Math.max(least, Math.min(most, Math.floor(value)));
