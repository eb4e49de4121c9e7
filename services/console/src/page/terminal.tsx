import { useSignal } from '@preact/signals';
import type { TargetedClipboardEvent, TargetedKeyboardEvent, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Channels } from '../state/channels.ts';
import type { Cell } from '../state/grid.ts';
import { textOfKey } from '../state/keys.ts';
import { oncePerFrame, type Wire } from '../state/machine.ts';
import { type ApiObject, containersOf } from '../state/object.ts';
import { Screen } from '../state/screen.ts';
import { openTerminal } from '../state/terminal.ts';
import { ContainerChoice } from './container-choice.tsx';
import { useShell } from './shell.tsx';

/** Each container has one of them, or none. */
const SHELL = ['sh', '-c', 'exec bash 2>/dev/null || exec sh'];
const SIZE = { columns: 100, rows: 30 };

/** A command in a container, as the person of the session. */
export function Terminal({ pod }: { readonly pod: ApiObject }): VNode {
  const containers = containersOf(pod);
  const [container, setContainer] = useState(containers.at(-1)?.name ?? '');
  const [words, setWords] = useState('');
  const [isAttached, setAttached] = useState(false);
  const terminal = useTerminal();
  const begin = (): void => {
    const command = words.trim() === '' ? SHELL : words.trim().split(/\s+/);
    terminal.begin(pod, { container, command: isAttached ? undefined : command });
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
      <TerminalScreen terminal={terminal} label={`Terminal of ${container}`} />
      <p class="muted">Shift and Tab leaves the terminal.</p>
    </div>
  );
}

type Terminal = ReturnType<typeof useTerminal>;

function TerminalScreen({ terminal, label }: { readonly terminal: Terminal; readonly label: string }): VNode {
  const box = useRef<HTMLDivElement>(null);
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
  useEffect(() => {
    if (terminal.isOpen) box.current?.focus();
  }, [terminal.isOpen]);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    // The way out by keys, and the browser's own copy and paste.
    if (event.key === 'Tab' && event.shiftKey) return;
    if (event.ctrlKey && event.shiftKey) return;
    const text = textOfKey(event);
    if (text === '' || !terminal.isOpen) return;
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
          cursor={terminal.isOpen && isCursorShown && cursor.row === row ? cursor.column : -1}
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

interface Asked {
  readonly container: string;
  /** Absent: what runs already. */
  readonly command: readonly string[] | undefined;
}

function useTerminal() {
  const shell = useShell();
  const { machine } = shell;
  const tick = useSignal(0);
  const kept = useRef<{ screen: Screen; channels: Channels; wire?: Wire; size: typeof SIZE } | undefined>(undefined);
  kept.current ??= { screen: new Screen(SIZE.columns, SIZE.rows), channels: new Channels(machine.utf8), size: SIZE };
  const at = kept.current;
  const [state, setState] = useState('Nothing runs.');
  const [isOpen, setOpen] = useState(false);
  const draw = useRef(
    oncePerFrame(machine, () => {
      tick.value++;
    }),
  ).current;
  useEffect(() => () => at.wire?.close(), []);
  const begin = (pod: ApiObject, asked: Asked): void => {
    at.wire?.close();
    at.channels = new Channels(machine.utf8);
    const { channels } = at;
    const screen = new Screen(at.size.columns, at.size.rows, (text) => at.wire?.send(channels.input(text)));
    at.screen = screen;
    setState('Connecting.');
    let end = '';
    const told = (text: string): void => {
      setState(text);
      setOpen(false);
    };
    openTerminal(shell, pod, asked, {
      opened: (wire) => {
        at.wire = wire;
        wire.send(channels.resize(at.size));
        setState('Connected.');
        setOpen(true);
      },
      message: (bytes) => {
        const heard = channels.hear(bytes);
        if (heard?.kind === 'end') end = heard.sentence;
        else if (heard !== undefined) screen.write(heard.text);
        draw();
      },
      closed: () => told(end === '' ? 'The connection ended.' : end),
    }).catch((error: unknown) => told(error instanceof Error ? error.message : String(error)));
  };
  const resize = (columns: number, rows: number): void => {
    at.size = { columns, rows };
    at.screen.resize(columns, rows);
    at.wire?.send(at.channels.resize(at.size));
    draw();
  };
  const type = (text: string): void => at.wire?.send(at.channels.input(text));
  return { screen: (tick.value, at.screen), state, isOpen, begin, resize, type };
}
