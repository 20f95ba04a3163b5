// The icons: lines of the same weight in a square of 16.

const paths = {
  again: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
  alert: "M8 5.5v3.5M8 11.2v.3M8 2 1.8 13.2h12.4z",
  back: "M9.5 3.5 5 8l4.5 4.5",
  check: "M3.5 8.5l3 3 6-7",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  cross: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  dash: "M4.5 8h7",
  diff: "M8 2.5v7M4.5 6h7M4.5 13h7",
  disk: "M2.5 4.2c0-1 2.5-1.7 5.5-1.7s5.5.7 5.5 1.7-2.5 1.7-5.5 1.7-5.5-.7-5.5-1.7zM2.5 4.2v7.6c0 1 2.5 1.7 5.5 1.7s5.5-.7 5.5-1.7V4.2M2.5 8c0 1 2.5 1.7 5.5 1.7s5.5-.7 5.5-1.7",
  down: "M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10",
  fork: "M5 10.5v-5M5 8.5c0-2.5 6-1 6-4",
  half: "M8 3a5 5 0 0 1 0 10z",
  keys: "M2 4.5h12v7H2zM4.5 7h.1M7 7h.1M9.5 7h.1M11.5 7h.1M5 9.5h6",
  lanes: "M5 14V2M5 10c0-3.5 6-2 6-6",
  moon: "M13 9.3A5.5 5.5 0 0 1 6.7 3a5.5 5.5 0 1 0 6.3 6.3z",
  newer: "M4 10l4-4 4 4",
  older: "M4 6l4 4 4-4",
  open: "M6 3.5 10.5 8 6 12.5",
  pause: "M5.8 4v8M10.2 4v8",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3l3.2 3.2",
  stop: "M4.5 4.5h7v7h-7z",
  sun: "M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6zM8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9",
} as const;

export type IconName = keyof typeof paths;

interface IconProps {
  name: IconName;
  size?: number;
  weight?: number;
  class?: string;
}

export function Icon({ name, size = 16, weight = 1.5, class: kind }: IconProps) {
  return (
    <svg
      class={kind}
      viewBox="0 0 16 16"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      stroke-linecap="round"
      stroke-linejoin="round"
      stroke-width={weight}
      aria-hidden="true"
    >
      {name === "half" && <circle cx="8" cy="8" r="5" />}
      {name === "fork" && (
        <>
          <circle cx="5" cy="12.2" r="1.7" />
          <circle cx="5" cy="3.8" r="1.7" />
          <circle cx="11" cy="3.3" r="1.7" />
        </>
      )}
      <path d={paths[name]} fill={name === "half" ? "currentColor" : undefined} />
    </svg>
  );
}
