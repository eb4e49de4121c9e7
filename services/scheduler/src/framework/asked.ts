/** How often a plugin was really asked. Counted in place, because it happens for each node; read when somebody wants to know. */
export interface Asked {
  preFilter: number;
  filter: number;
  preScore: number;
  score: number;
}

export const neverAsked = (): Asked => ({ preFilter: 0, filter: 0, preScore: 0, score: 0 });
