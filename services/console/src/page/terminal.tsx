import { useSignal } from '@preact/signals';
import type { RefObject, TargetedClipboardEvent, TargetedKeyboardEvent, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Size } from '../state/channels.ts';
import type { Cell } from '../state/grid.ts';
import { textOfKey } from '../state/keys.ts';
import { oncePerFrame } from '../state/machine.ts';
import { type ApiObject, containersOf } from '../state/object.ts';
import { Screen } from '../state/screen.ts';
import { openTerminal, type TerminalAsked } from '../state/terminal.ts';
import { TerminalSession } from '../state/terminal-session.ts';
import { ContainerChoice } from './container-choice.tsx';
import { useShell } from './shell.tsx';

/** Each container has one of them, or none. */
const SHELL = ['sh', '-c', 'exec bash 2>/dev/null || exec sh'];

/** A command in a container, as the person of the session. */
export function Terminal({ pod }: { readonly pod: ApiObject }): VNode {
  const containers = containersOf(pod);
  const [container, setContainer] = useState(containers.at(-1)?.name ?? '');
  const [words, setWords] = useState('');
  const [isAttached, setAttached] = useState(false);
  const terminal = useTerminal();
  const box = useRef<HTMLDivElement>(null);
  const begin = (): void => {
    const command = words.trim() === '' ? SHELL : words.trim().split(/\s+/);
    terminal.begin(pod, { container, command: isAttached ? undefined : command });
    // At once: what a person types now is for the command, and would be lost on the button.
    box.current?.focus();
  };
  return (
    <div class="terminal">
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          begin();
        }}
      >
        <ContainerChoice containers={containers} chosen={container} choose={setContainer} />
        <label>
          Command
          <input
            placeholder="a shell"
            value={words}
            disabled={isAttached}
            onInput={(event) => setWords(event.currentTarget.value)}
          />
        </label>
        <label class="check">
          <input type="checkbox" checked={isAttached} onChange={(event) => setAttached(event.currentTarget.checked)} />
          Attach to what runs
        </label>
        <button type="submit" class="primary">
          {isAttached ? 'Attach' : 'Run'}
        </button>
      </form>
      <p role="status">{terminal.state}</p>
      <TerminalScreen box={box} terminal={terminal} label={`Terminal of ${container}`} />
      <p class="muted">Shift and Tab leaves the terminal.</p>
    </div>
  );
}

type Terminal = ReturnType<typeof useTerminal>;

interface ScreenProps {
  readonly box: RefObject<HTMLDivElement | null>;
  readonly terminal: Terminal;
  readonly label: string;
}

function TerminalScreen({ box, terminal, label }: ScreenProps): VNode {
  const probe = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const fit = (): void => {
      if (box.current === null || probe.current === null) return;
      const { width, height } = probe.current.getBoundingClientRect();
      if (width === 0) return;
      const columns = Math.floor((box.current.clientWidth - 16) / (width / PROBE.length));
      terminal.resize(Math.max(20, columns), Math.max(10, Math.floor((box.current.clientHeight - 16) / height)));
    };
    const observer = new ResizeObserver(fit);
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    // The way out by keys, and the browser's own copy and paste.
    if (event.key === 'Tab' && event.shiftKey) return;
    if (event.ctrlKey && event.shiftKey) return;
    const text = textOfKey(event);
    if (text === '' || !terminal.takesKeys()) return;
    event.preventDefault();
    terminal.type(text);
  };
  const onPaste = (event: TargetedClipboardEvent<HTMLDivElement>): void => {
    event.preventDefault();
    terminal.type((event.clipboardData?.getData('text') ?? '').replace(/\r?\n/g, '\r'));
  };
  const { lines, cursor, isCursorShown } = terminal.screen;
  return (
    <div
      class="code tty"
      ref={box}
      tabIndex={0}
      role="textbox"
      aria-multiline="true"
      aria-label={label}
      onKeyDown={onKeyDown}
      onPaste={onPaste}
    >
      <span class="probe" ref={probe} aria-hidden="true">
        {PROBE}
      </span>
      {lines.map((line, row) => (
        <Line
          key={row}
          line={line}
          cursor={terminal.takesKeys() && isCursorShown && cursor.row === row ? cursor.column : -1}
        />
      ))}
    </div>
  );
}

const PROBE = 'MMMMMMMMMM';

function Line({ line, cursor }: { readonly line: readonly Cell[]; readonly cursor: number }): VNode {
  const runs: { text: string; looks: string }[] = [];
  for (const [column, cell] of line.entries()) {
    const looks = looksOf(cell, column === cursor);
    const last = runs.at(-1);
    if (last?.looks === looks) last.text += cell.char;
    else runs.push({ text: cell.char, looks });
  }
  return (
    <div>
      {runs.map(({ text, looks }, index) =>
        looks === '' ? (
          text
        ) : (
          <span key={index} class={looks}>
            {text}
          </span>
        ),
      )}
    </div>
  );
}

function looksOf({ pen }: Cell, isCursor: boolean): string {
  const isInverse = pen.isInverse !== isCursor;
  return [
    pen.ink >= 0 ? `ink-${pen.ink % 8}` : '',
    pen.ground >= 0 ? `ground-${pen.ground % 8}` : '',
    pen.isBold || pen.ink > 7 ? 'bold' : '',
    pen.isUnderlined ? 'underlined' : '',
    isInverse ? 'inverse' : '',
  ]
    .filter((each) => each !== '')
    .join(' ');
}

function useTerminal() {
  const shell = useShell();
  const { machine } = shell;
  const tick = useSignal(0);
  const draw = useRef(
    oncePerFrame(machine, () => {
      tick.value++;
    }),
  ).current;
  const size = useRef<Size>({ columns: 100, rows: 30 });
  const running = useRef<TerminalSession | undefined>(undefined);
  const blank = useRef(new Screen(size.current.columns, size.current.rows)).current;
  useEffect(() => () => running.current?.close(), []);
  const begin = (pod: ApiObject, asked: TerminalAsked): void => {
    running.current?.close();
    const session = new TerminalSession(machine.utf8, size.current, draw);
    running.current = session;
    draw();
    openTerminal(shell, pod, asked, session).catch((error: unknown) =>
      session.failed(error instanceof Error ? error.message : String(error)),
    );
  };
  const resize = (columns: number, rows: number): void => {
    size.current = { columns, rows };
    blank.resize(columns, rows);
    running.current?.resize(size.current);
    draw();
  };
  const { current } = running;
  return {
    screen: (tick.value, current?.screen ?? blank),
    state: current?.state ?? 'Nothing runs.',
    takesKeys: (): boolean => running.current?.takesKeys === true,
    begin,
    resize,
    type: (text: string): void => running.current?.type(text),
  };
}
