export interface Concert {
  id: string;
  title: string;
  ensemble: string;
  day: string;
  month: string;
  genre: string;
  price: number;
  oldPrice?: number;
}

export const genres = ["All", "Chamber", "Orchestra", "Jazz"];

export const concerts: Concert[] = [
  { id: "c1", title: "Four quartets", ensemble: "Slate Quartet", day: "3", month: "Mar", genre: "Chamber", price: 24 },
  { id: "c2", title: "Winter ends", ensemble: "Town Orchestra", day: "9", month: "Mar", genre: "Orchestra", price: 38 },
  { id: "c3", title: "Late", ensemble: "Bay Trio", day: "15", month: "Mar", genre: "Jazz", price: 18, oldPrice: 22 },
  { id: "c4", title: "Songs at noon", ensemble: "Quarry Voices", day: "21", month: "Mar", genre: "Chamber", price: 12 },
];

export const artists = [
  { name: "Slate Quartet", role: "Strings" },
  { name: "Bay Trio", role: "Piano, bass, drums" },
  { name: "Quarry Voices", role: "Choir" },
];

export const reviews = [
  { quote: "A warm room with a clear sound.", source: "Evening Post" },
  { quote: "The best seats are in the last row.", source: "A visitor" },
];

export const faqs = [
  { question: "Can I return a ticket?", answer: "Yes, until two days before the concert." },
  { question: "Is there a cloakroom?", answer: "Yes, it is free and on the left of the foyer." },
  { question: "May children come?", answer: "Children of six and older may come to every concert." },
];
