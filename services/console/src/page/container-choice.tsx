import type { VNode } from 'preact';

/** Chooses one of the containers of a pod. */
export function ContainerChoice({
  containers,
  chosen,
  choose,
}: {
  readonly containers: readonly { readonly name: string }[];
  readonly chosen: string;
  readonly choose: (name: string) => void;
}): VNode {
  return (
    <label>
      Container
      <select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        {containers.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
